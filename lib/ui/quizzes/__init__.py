"""The questions of each lesson's quiz, a module a lesson, made anew at each call in the language in force."""
from lib.ui.quizzes import lesson_01, lesson_02, lesson_03, lesson_04, lesson_05, lesson_06

QUIZZES = {"01": lesson_01.questions, "02": lesson_02.questions, "03": lesson_03.questions, "04": lesson_04.questions,
           "05": lesson_05.questions, "06": lesson_06.questions}
