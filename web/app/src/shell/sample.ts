/** The sign-in of the sample marketplace; other servers do not have it. */

import { Problem, type Schemas } from '@greenroom/sdk';

export type SamplePerson = Schemas['SamplePersonView'];

/** Null where this is not the sample. */
export async function samplePeople(): Promise<SamplePerson[] | null> {
  const answer = await ask('/demo/people');
  if (answer.status === 404) return null;
  const { items } = (await answer.json()) as Schemas['SamplePeople'];
  return items;
}

export async function signInAs(userId: string): Promise<string> {
  const answer = await ask('/demo/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ user_id: userId }),
  });
  return ((await answer.json()) as Schemas['SignedIn']).token;
}

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, cache: 'no-store' });
  } catch (error) {
    throw Problem.unreachable(error);
  }
  const isAbsent = answer.status === 404 && init.method === undefined;
  if (!answer.ok && !isAbsent) throw Problem.unreachable(`${path} answered ${answer.status}`);
  return answer;
}
