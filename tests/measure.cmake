# Tests of src/measure.
