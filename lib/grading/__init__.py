"""The grader's engine: levels, an isolated worker for the student's code, reports. It knows no homework."""
