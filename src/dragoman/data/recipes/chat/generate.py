"""Prompts → replies: small talk from templates, with names to repeat, sums to know and facts to remember."""

from __future__ import annotations

import random
from collections.abc import Callable

NAMES = (
    "Ada", "Alan", "Amina", "Boris", "Carla", "Chen", "Dora", "Elif", "Emil", "Fatima", "Felix", "Grace",
    "Hugo", "Ines", "Ivan", "Jana", "Kofi", "Lena", "Linus", "Maya", "Nadia", "Noam", "Olga", "Omar", "Petra",
    "Quentin", "Rosa", "Sami", "Tara", "Uma", "Victor", "Wanda", "Yuki", "Zoe",
)  # fmt: skip
CAPITALS = {
    "Austria": "Vienna", "Brazil": "Brasilia", "Canada": "Ottawa", "China": "Beijing", "Cuba": "Havana",
    "Denmark": "Copenhagen", "Egypt": "Cairo", "Finland": "Helsinki", "France": "Paris", "Germany": "Berlin",
    "Ghana": "Accra", "Greece": "Athens", "India": "Delhi", "Ireland": "Dublin", "Italy": "Rome",
    "Japan": "Tokyo", "Kenya": "Nairobi", "Norway": "Oslo", "Peru": "Lima", "Poland": "Warsaw",
    "Portugal": "Lisbon", "Spain": "Madrid", "Sweden": "Stockholm", "Turkey": "Ankara",
}  # fmt: skip
ANIMALS = (
    "ant",
    "mouse",
    "rat",
    "cat",
    "dog",
    "sheep",
    "donkey",
    "horse",
    "camel",
    "elephant",
    "whale",
)  # by size
FOODS = ("apples", "beans", "bread", "cheese", "fish", "honey", "nuts", "olives", "plums", "rice", "soup")
NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
OPENINGS = ("", "Tell me: ", "Excuse me, ", "One question: ", "By the way, ")  # of questions
SIZES = {"train": 6_000, "valid": 200, "test": 500}

Exchange = tuple[str, str]


def greeting(rng: random.Random) -> Exchange:
    name, city = rng.choice(NAMES), rng.choice(list(CAPITALS.values()))
    form = rng.choice(("Hello, I am {} from {}.", "My name is {} and I live in {}.", "Hi! {} here, in {}."))
    return form.format(name, city), f"Nice to meet you, {name}. How is the weather in {city}?"


def friend(rng: random.Random) -> Exchange:
    name, food, animal = rng.choice(NAMES), rng.choice(FOODS), rng.choice(ANIMALS)
    return f"My friend {name} gives {food} to the {animal}.", f"Does the {animal} of {name} like {food}?"


def capital(rng: random.Random) -> Exchange:
    country, city = rng.choice(list(CAPITALS.items()))
    form = rng.choice(
        ("what is the capital of {}?", "do you know the capital of {}?", "which city governs {}?")
    )
    return form.format(country), f"The capital of {country} is {city}."


def total(rng: random.Random) -> Exchange:
    first, second = rng.randint(0, 10), rng.randint(0, 10)
    numbers = NUMBERS[first], NUMBERS[second]
    form = rng.choice(("how much is {} plus {}?", "what do {} and {} make?", "can you add {} and {}?"))
    return form.format(*numbers), "{} plus {} is {}.".format(*numbers, NUMBERS[first + second]).capitalize()


def larger(rng: random.Random) -> Exchange:
    one, other = rng.sample(range(len(ANIMALS)), 2)
    form = rng.choice(("which is larger, the {} or the {}?", "{} or {}, which of them is larger?"))
    return form.format(ANIMALS[one], ANIMALS[other]), (
        f"The {ANIMALS[max(one, other)]} is larger than the {ANIMALS[min(one, other)]}."
    )


TOPICS: tuple[Callable[[random.Random], Exchange], ...] = (greeting, friend, capital, total, larger)


def splits(seed: int = 1) -> dict[str, list[Exchange]]:
    """Return the splits. No prompt is repeated; a reply may be."""
    rng = random.Random(seed)
    replies: dict[str, str] = {}
    while len(replies) < sum(SIZES.values()):
        prompt, reply = rng.choice(TOPICS)(rng)
        if prompt[0].islower():
            prompt = rng.choice(OPENINGS) + prompt
        replies[prompt[0].upper() + prompt[1:]] = reply
    fresh = iter(replies.items())
    return {name: [next(fresh) for _ in range(size)] for name, size in SIZES.items()}
