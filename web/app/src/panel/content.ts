/** What a tab of the panel shows. */

import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';

import '../look/avatar.ts';
import { controls } from '../look/controls.ts';
import { actionsTab } from './actions_tab.ts';
import { bookingTab } from './booking_tab.ts';
import { contentStyles } from './content_styles.ts';
import { docsTab } from './docs_tab.ts';
import { beforeBooking, laterTab } from './empty_tabs.ts';
import { expensesTab } from './expenses_tab.ts';
import { filesTab } from './files_tab.ts';
import type { Loaded } from './loads.ts';
import { isLater, type TabName } from './tabs.ts';
import type { Drawn, View } from './view.ts';

@customElement('greenroom-panel-content')
export class GreenroomPanelContent extends LitElement {
  static override styles = [controls, contentStyles];

  @property({ attribute: false }) tab: TabName = 'actions';
  @property({ attribute: false }) view!: View;
  @property({ attribute: false }) threadId = '';
  @property({ attribute: false }) loaded!: Loaded;

  protected override render(): TemplateResult {
    return html`<div class="content">${this.#drawn()}</div>`;
  }

  #drawn(): Drawn {
    const { tab, view } = this;
    const { panel, tabs } = this.loaded;
    if (isLater(tab)) return laterTab(view, tab);
    if (tab === 'actions') return tabs.actions ? actionsTab(view, tabs.actions.data) : nothing;
    if (tab === 'files') {
      return tabs.files ? filesTab(view, tabs.files.data, this.threadId) : nothing;
    }
    if (!panel?.booking) return beforeBooking(view, tab);
    if (tab === 'booking') return bookingTab(view, panel, panel.booking);
    if (tab === 'expenses') return tabs.expenses ? expensesTab(view, tabs.expenses.data) : nothing;
    return tabs.docs ? docsTab(view, tabs.docs.data, panel.booking.legs) : nothing;
  }
}
