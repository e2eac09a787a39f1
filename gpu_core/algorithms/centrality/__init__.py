"""How central vertices are: PageRank and its kin, Katz, betweenness."""
