"""Numbers of the graph among the metrics of workers, where there is nobody to tell."""

from distributed import Client

from graphtide.pipeline.monitoring.worker_metrics import graph_metrics


def test_a_client_that_has_given_up_its_scheduler_ends_without_another_error(
    client: Client,
) -> None:
    """Of a scheduler that went away the run says so in a sentence; this must not take its place."""
    with graph_metrics(client):
        client.close()
        assert client.scheduler is None
