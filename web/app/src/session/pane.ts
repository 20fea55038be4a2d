/** What fills a part of the page. Each is drawn for the first time in a task of its own, so that a
 * slow phone answers a tap in between, and shows what is done. */

import { GreenroomElement } from './element.ts';

export abstract class Pane extends GreenroomElement {
  protected override scheduleUpdate(): void | Promise<unknown> {
    if (this.hasUpdated) return super.scheduleUpdate();
    return nextTask().then(() => super.scheduleUpdate());
  }
}

function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
