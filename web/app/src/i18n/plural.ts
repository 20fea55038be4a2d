/** Which form of a word goes with a number, by the rules of the language. */

export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

export function plurals(locale: string): (count: number, forms: Forms) => string {
  const rules = new Intl.PluralRules(locale);
  return (count, forms) => forms[rules.select(count)] ?? forms.other;
}
