/** What the clock on a wall shows somewhere, and which moment that is. Pure. */

const DAY_MS = 86_400_000;

/** As the fields of a page write it: `2026-11-16` and `10:30`; seconds only where there are some. */
export interface WallTime {
  date: string;
  time: string;
}

export function wallTime(at: string | number, timeZone: string): WallTime {
  const parts = new Intl.DateTimeFormat('en', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(new Date(at));
  const part = (type: string): string => parts.find((each) => each.type === type)?.value ?? '';
  const seconds = part('second') === '00' ? '' : `:${part('second')}`;
  return {
    date: `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`,
    time: `${part('hour')}:${part('minute')}${seconds}`,
  };
}

/** In UTC. Null where clocks are put forward over that time; where they are put back, the first. */
export function momentOf({ date, time }: WallTime, timeZone: string): string | null {
  const asUtcMs = Date.parse(`${date}T${time}Z`);
  if (Number.isNaN(asUtcMs)) return null;
  const wanted = wallTime(asUtcMs, 'UTC');
  const candidates = [asUtcMs - DAY_MS, asUtcMs + DAY_MS]
    .map((nearMs) => asUtcMs - offsetMs(nearMs, timeZone))
    .sort((one, other) => one - other);
  const found = candidates.find((atMs) => {
    const shown = wallTime(atMs, timeZone);
    return shown.date === wanted.date && shown.time === wanted.time;
  });
  return found === undefined ? null : new Date(found).toISOString();
}

function offsetMs(atMs: number, timeZone: string): number {
  const { date, time } = wallTime(atMs, timeZone);
  return Date.parse(`${date}T${time}Z`) - Math.floor(atMs / 1000) * 1000;
}
