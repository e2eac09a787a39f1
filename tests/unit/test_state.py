"""The state directory: what it keeps of a graph, its log and plan, and which runs it refuses."""

import pytest

from graphtide import StateError, UpdateLogError
from graphtide.config.settings import GraphSettings
from graphtide.io.hashed_json import read_json, write_json
from graphtide.io.log.log_listing import LogFile
from graphtide.io.log.paths.addresses import absolute_address
from graphtide.io.log.plan import BatchPlan
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.plan_files import read_plan, write_plan
from graphtide.io.state.state_settings import StateSettings
from small_state import IDENTITY, contents, made


def test_a_state_is_made_once_and_opened_again(tmp_path):
    state = made(tmp_path / "deep" / "s", columns={"src": "a"}, time_unit="int64")
    before = contents(state.path)
    again = made(state.path, columns={"src": "a"}, time_unit="int64")
    assert contents(state.path) == before
    settings = again.settings()
    assert settings.identity == IDENTITY
    assert (settings.columns, settings.time_unit) == ({"src": "a"}, "int64")


#: What states do not say that were made before there was another value of it.
LATER = ("weights", "on_repeat", "properties", "vertex_properties", "time_window")


def test_a_state_from_before_there_were_other_weights_goes_on_with_the_last_of_float32(tmp_path):
    older = {name: IDENTITY[name] for name in IDENTITY if name not in LATER}
    state = made(tmp_path / "s", identity=older)
    assert state.settings().identity == IDENTITY
    made(state.path)
    with pytest.raises(StateError, match="run asks for weights: float64"):
        made(state.path, identity={**IDENTITY, "weights": "float64"})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"identity": {**IDENTITY, "directed": False}}, ["directed: true", "directed: false"]),
        ({"identity": {**IDENTITY, "records": "weighted"}}, ["records: simple", "weighted"]),
        ({"identity": {**IDENTITY, "ids": "dense"}}, ["ids: any", "ids: dense"]),
        ({"identity": {**IDENTITY, "on_repeat": "sum"}}, ["on_repeat: last", "on_repeat: sum"]),
        ({"columns": {"src": "a"}}, ["columns: {}", "columns: {src: a}"]),
        ({"log_address": "/other"}, ["log: /log", "log: /other"]),
    ],
)
def test_a_contradicting_run_is_refused_and_changes_nothing(tmp_path, changes, words):
    state = made(tmp_path / "s")
    before = contents(state.path)
    with pytest.raises(StateError) as caught:
        made(state.path, **changes)
    for word in [*words, "another --state"]:
        assert word in str(caught.value)
    assert contents(state.path) == before


def test_the_unit_of_time_is_that_of_the_first_times(tmp_path):
    """Files before may have had none."""
    state = made(tmp_path / "s")
    made(state.path, time_unit="int64")
    assert state.settings().time_unit == "int64"
    with pytest.raises(StateError, match=r"unit of time: int64, but .* unit of time: none"):
        made(state.path)


def test_every_contradiction_is_named_and_nothing_else(tmp_path):
    state = made(tmp_path / "s")
    wanted = {**IDENTITY, "directed": False, "reverse": False}
    with pytest.raises(StateError) as caught:
        made(state.path, identity=wanted)
    assert "directed: true, reverse: true, but" in str(caught.value)
    assert "records" not in str(caught.value)


def test_the_same_log_by_another_spelling(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    state = made("s", log_address=absolute_address("log"))
    for spelling in ("./log", f"{tmp_path}/log/", f"file://{tmp_path}/log"):
        made(state.path, log_address=absolute_address(spelling))
    assert absolute_address("s3://bucket/log/") == "s3://bucket/log"


@pytest.mark.parametrize("version", [0, 3, None])
def test_a_state_of_another_version(tmp_path, version):
    state = made(tmp_path / "s")
    file = state.path / "graphtide.json"
    write_json(file, {**read_json(file, must_have_hash=True), "version": version})
    with pytest.raises(StateError, match=f"is of version {version}"):
        state.settings()
    with pytest.raises(StateError, match=f"is of version {version}"):
        made(state.path)


def test_a_state_with_a_setting_of_a_later_version(tmp_path):
    """To go on without it would make another graph, and nothing would show it."""
    state = made(tmp_path / "s", reading={"order_by": "when"})
    file = state.path / "graphtide.json"
    values = read_json(file, must_have_hash=True)
    for later in (
        {"identity": {**IDENTITY, "half_life": "7d"}},
        {"reading": {"order_by": "when", "half_life": "7d"}},
        {"half_life": "7d"},
    ):
        write_json(file, {**values, **later})
        with pytest.raises(StateError, match="has the setting half_life, which this graphtide"):
            state.settings()
        with pytest.raises(StateError, match="has the setting half_life, which this graphtide"):
            made(state.path)


def test_all_settings_that_define_a_graph_are_known():
    assert StateSettings.unknown_names({"identity": GraphSettings().identity()}) == []


def test_a_file_of_another_program_is_no_state(tmp_path):
    file = tmp_path / "graphtide.json"
    write_json(file, {"format": "tide tables", "version": 2})
    with pytest.raises(StateError, match=r"graphtide\.json is not of graphtide; give another"):
        StateDirectory(tmp_path).settings()


def test_what_is_no_state(tmp_path):
    with pytest.raises(StateError, match="there is no graphtide state"):
        StateDirectory(tmp_path / "nowhere").settings()
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(StateError, match=r"not empty \(thesis.txt is in it\)"):
        made(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(StateError, match="is a file"):
        made(tmp_path / "thesis.txt")
    with pytest.raises(StateError, match="local disk"):
        StateDirectory("s3://bucket/state")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "graphtide state", "version": 1}'])
def test_a_damaged_state_file(tmp_path, text):
    state = made(tmp_path / "s")
    (state.path / "graphtide.json").write_text(text)
    with pytest.raises(StateError, match=r"graphtide\.json"):
        state.settings()


def test_a_log_may_be_read_another_way_until_there_is_a_checkpoint(tmp_path):
    """A row that is late, or an unknown word, ends a run with advice that must not be refused."""
    in_order = {"order_by": "ts"}
    within = {"order_by": "ts", "order_within": "5m", "op_insert": ["upsert"]}
    state = made(tmp_path / "s", reading=in_order)
    made(state.path, reading=within)
    assert state.settings().reading == within
    with pytest.raises(StateError, match="was made with columns"):
        made(state.path, reading=in_order, columns={"src": "a"})
    (state.path / "checkpoints" / "batch=000000000000").mkdir(parents=True)
    with pytest.raises(StateError, match=r"was made with op_insert: .*, order_within: 5m, but"):
        made(state.path, reading=in_order)
    assert state.settings().reading == within


def test_words_may_be_added_while_no_row_was_left_out_for_them(tmp_path):
    """An error names op_insert for an unknown word, also behind the first checkpoint."""
    state = made(tmp_path / "s", reading={"op_insert": ["c"]})
    (state.path / "checkpoints" / "batch=000000000000").mkdir(parents=True)
    more = {"op_insert": ["u", "C"], "op_delete": ["x"]}
    with pytest.raises(StateError, match=r"was made with op_delete: none, op_insert: \[c\], but"):
        made(state.path, reading=more)
    made(state.path, reading=more, may_add_words=True)
    assert state.settings().reading == more
    others = [
        {"op_insert": ["u"], "op_delete": ["x"]},  # one less
        {"op_insert": ["u", "c", "x"]},  # one that means something else
        {"op_insert": ["u", "c", "delete"], "op_delete": ["x"]},  # likewise, of every log
        {**more, "op_insert": ["u", "c", "y"], "order_by": "ts"},
    ]
    for other in others:
        with pytest.raises(StateError, match="was made with"):
            made(state.path, reading=other, may_add_words=True)
    assert state.settings().reading == more


def test_what_may_change_alone_may_change_with_the_address_of_the_log(tmp_path):
    """And what may not is refused without a word of the address, which is not the cause."""
    state = made(tmp_path / "s", reading={"op_insert": ["c"]})
    state.path.joinpath("checkpoints", "batch=000000000000").mkdir(parents=True)
    more = {"op_insert": ["c", "u"]}
    made(state.path, log_address="/moved", reading=more, is_moved_log=True, may_add_words=True)
    assert state.settings().log_address == "/moved"
    assert state.settings().reading == more
    with pytest.raises(StateError, match=r"was made with order_by: none, but this run asks for o"):
        made(state.path, reading={**more, "order_by": "ts"}, is_moved_log=True)


def test_the_plan_grows_in_parts(tmp_path):
    state = made(tmp_path / "s")
    assert read_plan(state) == BatchPlan()
    files = [LogFile("a", 1, "f", 10, (10,)), LogFile("b", 1, "g", 0, ())]
    plan = BatchPlan().extended(files[:1], 3)
    write_plan(state, plan)
    write_plan(state, plan)
    longer = plan.extended(files, 5)
    write_plan(state, longer)
    assert read_plan(state) == longer
    parts = sorted(part.name for part in (state.path / "plan").iterdir())
    assert parts == ["000000000000.json", "000000000001.json"]
    # Planned anew from the first file on: the newest part counts.
    other = BatchPlan().extended(files, 4)
    write_plan(state, other)
    assert read_plan(state) == other
    write_plan(state, BatchPlan(other.files[:1]))
    assert read_plan(state) == BatchPlan(other.files[:1])
    (state.path / "plan" / parts[0]).unlink()
    with pytest.raises(StateError, match=r"part 000000000000\.json .* missing"):
        read_plan(state)


@pytest.mark.parametrize("address", ["", [], (), ["a", ""]])
def test_an_address_that_is_none_is_refused(address: object) -> None:
    with pytest.raises(UpdateLogError, match="an address of the log is empty"):
        absolute_address(address)
