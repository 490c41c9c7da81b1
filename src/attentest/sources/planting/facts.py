"""What planted questions are made of: relations with their sentences, people, values, and facts that models know."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KNOWN", "PEOPLE", "RELATIONS", "UNTOLD", "Relation"]


@dataclass(frozen=True)
class Relation:
    """Something that is told of a person, asked, and told again in other words."""

    question: str
    told: str
    again: str
    values: tuple[str, ...]


CITIES = ("Lisbon", "Oslo", "Vienna", "Dublin", "Prague", "Athens", "Warsaw", "Helsinki", "Madrid", "Brussels")
COLOURS = ("red", "green", "blue", "yellow", "purple", "orange", "black", "white")
MONTHS = ("January", "March", "April", "May", "June", "July", "October", "December")
FOODS = ("rice", "bread", "soup", "cheese", "honey", "fish", "apples", "beans")
ANIMALS = ("dog", "cat", "horse", "goat", "rabbit", "parrot", "sheep", "duck")
JOBS = ("doctor", "farmer", "teacher", "baker", "lawyer", "sailor", "painter", "pilot")

PEOPLE = (
    *("Anna", "Bruno", "Clara", "David", "Elena", "Felix", "Greta", "Henry", "Irene", "Jonas", "Karla", "Louis"),
    *("Maria", "Nadia", "Oscar", "Paula", "Ralph", "Sofia", "Tomas", "Vera"),
)

RELATIONS = (
    Relation(
        "In which city does {who} keep a boat?",
        "{who} keeps a boat in {value}.",
        "The boat of {who} lies in {value}.",
        CITIES,
    ),
    Relation(
        "In which city was {who} born?", "{who} was born in {value}.", "The birthplace of {who} is {value}.", CITIES
    ),
    Relation(
        "What colour is the car of {who}?", "The car of {who} is {value}.", "{who} drives a {value} car.", COLOURS
    ),
    Relation(
        "In which month does {who} travel?",
        "{who} travels in {value}.",
        "Every {value}, {who} goes on a journey.",
        MONTHS,
    ),
    Relation(
        "What does {who} eat for breakfast?",
        "{who} eats {value} for breakfast.",
        "For breakfast, {who} has {value}.",
        FOODS,
    ),
    Relation("Which animal does {who} own?", "{who} owns a {value}.", "The pet of {who} is a {value}.", ANIMALS),
    Relation("What is the job of {who}?", "{who} works as a {value}.", "The profession of {who} is {value}.", JOBS),
    Relation(
        "What colour is the door of {who}?", "The door of {who} is {value}.", "{who} has a {value} door.", COLOURS
    ),
)

#: What is asked, what is true, another value, and how it is told: a model may know it without any source.
KNOWN = (
    ("What is the capital of France?", "Paris", "Lyon", "The capital of France is {value}."),
    ("What is the capital of Japan?", "Tokyo", "Osaka", "The capital of Japan is {value}."),
    ("What is the capital of Italy?", "Rome", "Milan", "The capital of Italy is {value}."),
    ("What is the capital of Germany?", "Berlin", "Munich", "The capital of Germany is {value}."),
    ("What is the capital of Spain?", "Madrid", "Seville", "The capital of Spain is {value}."),
    ("What is the capital of England?", "London", "Leeds", "The capital of England is {value}."),
    ("Which planet do people live on?", "Earth", "Mars", "People live on the planet {value}."),
    ("What is the largest ocean?", "Pacific", "Atlantic", "The largest ocean is the {value}."),
    ("Who wrote Romeo and Juliet?", "Shakespeare", "Goethe", "Romeo and Juliet was written by {value}."),
    ("What colour is a clear sky by day?", "blue", "green", "By day a clear sky is {value}."),
    ("How many days are in a week?", "seven", "nine", "A week has {value} days."),
    ("What gas do plants take in?", "carbon dioxide", "helium", "Plants take in {value}."),
)

#: Questions that no source answers, and no model knows.
UNTOLD = (
    "What did {who} dream of last night?",
    "Which song does {who} sing in the shower?",
    "What is the phone number of {who}?",
    "Why did {who} leave the party?",
)
