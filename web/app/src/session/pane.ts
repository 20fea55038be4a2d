/** Base of the large elements of a page (inbox, thread, panel). Each renders for the first time in a
 * task of its own, so that a slow phone can react to a tap in between. */

import { GreenroomElement } from './element.ts';

export abstract class Pane extends GreenroomElement {
  protected override async scheduleUpdate(): Promise<unknown> {
    if (!this.hasUpdated) await nextTask();
    return super.scheduleUpdate();
  }
}

function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
