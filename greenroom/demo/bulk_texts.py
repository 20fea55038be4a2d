"""Random names and messages for generated people, put together from parts."""

import random

FIRST_NAMES = (
    "Aisha", "Alma", "Amir", "Anouk", "Arjun", "Astrid", "Bao", "Beatriz", "Bruno", "Camille",
    "Chidi", "Dalia", "Davor", "Elif", "Elena", "Emeka", "Farah", "Felix", "Gita", "Hana", "Hugo",
    "Ida", "Imani", "Ivo", "Jana", "Jonas", "Kaito", "Kemi", "Leila", "Linnea", "Luca", "Mads",
    "Mateo", "Mei", "Mira", "Nadia", "Nils", "Olu", "Paloma", "Petra", "Rafael", "Rania", "Ravi",
    "Sanne", "Sipho", "Tariq", "Tova", "Uma", "Viktor", "Wanjiru", "Yara", "Yusuf", "Zofia",
)  # fmt: skip
LAST_NAMES = (
    "Abara", "Almeida", "Andersen", "Aydın", "Bakker", "Banerjee", "Berg", "Castellano", "Chukwu",
    "Costa", "Danso", "Dubois", "Eriksen", "Farouk", "Fischer", "Gallo", "Haugen", "Horvat",
    "Ibrahim", "Iyer", "Jansen", "Kamau", "Kaya", "Kowalska", "Kraus", "Lam", "Lindholm", "Mbeki",
    "Moreau", "Moreno", "Nakagawa", "Nilsen", "Novak", "Okafor", "Oyelaran", "Pereira", "Petrov",
    "Quispe", "Rahman", "Ricci", "Rojas", "Sato", "Schreiber", "Silva", "Tanaka", "Thorne",
    "Traoré", "Vargas", "Virtanen", "Weiss", "Yilmaz", "Zhou",
)  # fmt: skip
PLACES = (
    ("Leeds", "Europe/London"),
    ("London", "Europe/London"),
    ("Berlin", "Europe/Berlin"),
    ("Lisbon", "Europe/Lisbon"),
    ("Copenhagen", "Europe/Copenhagen"),
    ("Milan", "Europe/Rome"),
    ("Oslo", "Europe/Oslo"),
    ("New York", "America/New_York"),
    ("São Paulo", "America/Sao_Paulo"),
    ("Nairobi", "Africa/Nairobi"),
)
TRADES = (
    "photographer",
    "model",
    "videographer",
    "studio",
    "makeup",
    "electrician",
    "carpenter",
    "plumber",
    "gardener",
    "creator",
)
JOBS = (
    "Lookbook",
    "Team portraits",
    "Music video",
    "Wedding",
    "Product photographs",
    "Kitchen renovation",
    "Garden plan",
    "Podcast recording",
    "Studio day",
    "Rewiring",
    "Book shelves",
    "Campaign",
)

_OPENINGS = ("", "", "", "Hi! ", "Thanks. ", "Great, ", "Good question: ", "Morning! ", "Sorry, ")
_SENTENCES = (
    "could we do {day} at {hour}:00?",
    "that would be {price} € for {hours} hours, travel included",
    "I can be there at {hour}:30, does that suit you?",
    "the crew is {hours} people and one of them is always late",
    "I'd rather start at {hour}:00, the light is gone by four",
    "size {size} please, and a second one in {size2} to be safe",
    "we need {hours} more hours on {day}, is that possible?",
    "the quote is {price} €, valid until {day}",
    "sounds good to me, let's do it",
    "I'll send the list tonight",
    "do you need a parking space?",
    "the address is the yard, second door on the left",
    "please bring the {size} cm shelf, not the {size2} cm one",
    "all done, it took {hours} hours in the end",
    "could you make it {price} € if we take both days?",
    "I'm afraid {day} is taken, the day after is free",
)
_EXTRAS = ("", "", "", " Let me know.", " No hurry.", " What do you think?", " See you then!")
_MARKDOWN = (
    "What we agreed:\n\n- {hours} hours on {day}\n- {price} €, half in advance\n- from {hour}:00",
    "**{day}, {hour}:00** it is. Price stays at {price} €.",
    "Here is the plan: https://plans.example.com/{price}",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def write(dice: random.Random) -> str:
    """One message."""
    pattern = dice.choice(_SENTENCES)
    opening = dice.choice(_OPENINGS)
    if dice.random() < 0.06:
        pattern, opening = dice.choice(_MARKDOWN), ""
    text = opening + pattern.format(
        day=dice.choice(_DAYS),
        hour=dice.randrange(8, 19),
        hours=dice.randrange(2, 9),
        price=10 * dice.randrange(6, 240),
        size=dice.randrange(32, 60),
        size2=dice.randrange(32, 60),
    )
    return text[0].upper() + text[1:] + (dice.choice(_EXTRAS) if opening else "")


def name(dice: random.Random) -> str:
    return f"{dice.choice(FIRST_NAMES)} {dice.choice(LAST_NAMES)}"
