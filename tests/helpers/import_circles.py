"""Circles of imports in the package, those for type checkers counted; ``make layers`` runs this.

Each set of modules that import one another is printed, and the exit status is 1 if there is one.
The contracts of the import linter know layers, not modules within one.
"""

import sys

import grimp
import networkx as nx


def circles() -> list[list[str]]:
    """Sets of two modules or more that all reach one another by imports."""
    graph = grimp.build_graph("graphtide")
    imports = nx.DiGraph(
        (module, imported)
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if not f"{module}.".startswith(f"{imported}.")  # a package, by a module within it
    )
    found = nx.strongly_connected_components(imports)
    return sorted(sorted(each) for each in found if len(each) > 1)


if __name__ == "__main__":
    found = circles()
    for each in found:
        print("circle of imports:", ", ".join(each))
    sys.exit(bool(found))
