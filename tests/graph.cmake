# Tests of src/graph.
