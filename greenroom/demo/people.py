"""The people of the sample marketplace. All of them are invented."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SamplePerson:
    user_id: str
    display_name: str
    role: str
    city: str
    timezone: str
    locale: str
    age_verified: bool = False

    @property
    def avatar_url(self) -> str:
        return avatar_path(self.user_id)


def avatar_path(user_id: str) -> str:
    """Relative, so that it works on any host and port."""
    return f"/demo/avatars/{user_id}.svg"


PEOPLE: dict[str, SamplePerson] = {
    person.user_id: person
    for person in (
        SamplePerson("maya", "Maya Lindqvist", "buyer", "Leeds", "Europe/London", "en-GB"),
        SamplePerson("theo", "Theo Adeyemi", "photographer", "Leeds", "Europe/London", "en-GB"),
        SamplePerson("noor", "Noor Haddad", "model", "Manchester", "Europe/London", "en-GB", True),
        SamplePerson("ada", "Ada Whitcombe", "assistant", "Leeds", "Europe/London", "en-GB"),
        SamplePerson("priya", "Priya Ramanathan", "buyer", "London", "Europe/London", "en-GB"),
        SamplePerson("kwame", "Kwame Boakye", "electrician", "London", "Europe/London", "en-GB"),
        SamplePerson("amara", "Amara Okonjo", "model", "London", "Europe/London", "en-GB", True),
        SamplePerson("loft", "Mile End Loft", "studio", "London", "Europe/London", "en-GB"),
        SamplePerson("rosa", "Rosa Delgado Ferrer", "buyer", "Barcelona", "Europe/Madrid", "es"),
        SamplePerson("ines", "Inês Carvalhal", "photographer", "Lisbon", "Europe/Lisbon", "pt"),
        SamplePerson("sofia", "Sofia Marchetti", "makeup", "Milan", "Europe/Rome", "it"),
        SamplePerson("jun", "Jun Takemoto", "videographer", "Berlin", "Europe/Berlin", "de"),
        SamplePerson(
            "nordlys", "Studio Nordlys", "studio", "Copenhagen", "Europe/Copenhagen", "da"
        ),
        SamplePerson("emil", "Emil Novotný", "buyer", "Oslo", "Europe/Oslo", "cs"),
        SamplePerson("lars", "Lars Brandvold", "carpenter", "Oslo", "Europe/Oslo", "nb"),
    )
}
