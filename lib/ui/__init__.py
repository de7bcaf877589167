"""What the notebooks show: pictures, tables, quizzes, slider panels."""
