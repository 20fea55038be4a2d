/** Which form of a word goes with a number, by the rules of the language. */

export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

export function plurals(locale: string): (count: number, forms: Forms) => string {
  let rules: Intl.PluralRules | undefined;
  return (count, forms) => {
    // Made when first needed: it takes a while, and every room of words has one.
    rules ??= new Intl.PluralRules(locale);
    return forms[rules.select(count)] ?? forms.other;
  };
}
