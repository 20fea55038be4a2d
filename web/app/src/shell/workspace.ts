/** The messages as a page of their own: at an address, with shortcuts and the person's menu. */

import type { User } from '@greenroom/sdk';
import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';

import { englishShell, type ShellWords } from '../i18n/shell.ts';
import type { Change, GreenroomMessages } from '../messages/messages.ts';
import { announce } from '../look/announcer.ts';
import { tokens } from '../look/tokens.ts';
import { loadPeople } from '../people/loading.ts';
import type { Stop } from '../session/element.ts';
import { loadPreferences } from '../session/later.ts';
import { Pane } from '../session/pane.ts';
import { followKeys } from './follow_keys.ts';
import './help.ts';
import { hasSingleKeys, keepSingleKeys, type Theme } from './kept.ts';
import type { Navigation } from './navigation.ts';
import './person_menu.ts';
import { INBOX, type Route } from './routes.ts';
import type { Command } from './shortcuts.ts';
import { styles } from './workspace_styles.ts';

@customElement('greenroom-workspace')
export class GreenroomWorkspace extends Pane {
  static override styles = [tokens, Pane.styles, styles];

  @property({ attribute: false }) navigation!: Navigation;
  @property({ attribute: false }) route: Route = INBOX;
  @property({ attribute: false }) shellWords: ShellWords = englishShell;
  @property({ attribute: false }) person: User | null = null;
  @property({ attribute: false }) pageTheme: Theme = 'system';
  @property({ type: Boolean }) sample = false;
  @state() private isHelpOpen = false;
  @state() private isBlockedOpen = false;
  @state() private arePreferencesOpen = false;
  @state() private hasDrawer = false;
  @state() private singleKeys = hasSingleKeys();
  @query('greenroom-messages') private messages!: GreenroomMessages;
  @query('h1') private heading!: HTMLElement;
  #stopKeys: Stop | null = null;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#stopKeys = followKeys((command) => this.#run(command));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stopKeys?.();
  }

  /** Somebody has just signed in: the page is another one, and starts at its heading. */
  override focus(): void {
    void this.#focus();
  }

  async #focus(): Promise<void> {
    await this.updateComplete;
    await this.messages.updateComplete;
    const isList = !this.messages.isPhone || !this.route.threadId;
    if (isList) this.heading.focus();
    else await this.messages.focusThread();
  }

  protected override render(): TemplateResult {
    const { threadId, panel, folder } = this.route;
    const words = this.shellWords;
    const help = (): boolean => (this.isHelpOpen = true);
    return html`${this.#skipLinks()}
      <greenroom-messages
        .isPage=${true}
        .threadId=${threadId}
        .panel=${panel}
        .folder=${folder ?? 'all'}
        @greenroom-change=${this.#changed}
        @greenroom-help=${help}
        @greenroom-blocked=${this.#showBlocked}
        @greenroom-preferences=${this.#showPreferences}
        @drawer=${() => (this.hasDrawer = this.messages.isDrawerOpen)}
      >
        <h1 slot="heading" class="visually-hidden" tabindex="-1">${words.product}</h1>
        <greenroom-person-menu
          slot="actions"
          .shellWords=${words}
          .person=${this.person}
          .pageTheme=${this.pageTheme}
          .sample=${this.sample}
        ></greenroom-person-menu>
        <button slot="empty" class="button plain" @click=${help}>${words.shortcuts}</button>
      </greenroom-messages>
      <greenroom-help
        ?open=${this.isHelpOpen}
        .shellWords=${words}
        .singleKeys=${this.singleKeys}
        @close=${() => (this.isHelpOpen = false)}
        @single-keys=${this.#singleKeys}
      ></greenroom-help>
      ${
        this.isBlockedOpen
          ? html`<greenroom-blocked
              @close=${() => (this.isBlockedOpen = false)}
            ></greenroom-blocked>`
          : nothing
      }
      ${
        this.arePreferencesOpen
          ? html`<greenroom-preferences
              @close=${() => (this.arePreferencesOpen = false)}
            ></greenroom-preferences>`
          : nothing
      }`;
  }

  readonly #showBlocked = (): void => {
    loadPeople()
      .then(() => (this.isBlockedOpen = true))
      .catch((error: unknown) => announce(this.session?.explain(error) ?? ''));
  };

  readonly #showPreferences = (): void => {
    loadPreferences()
      .then(() => (this.arePreferencesOpen = true))
      .catch((error: unknown) => announce(this.session?.explain(error) ?? ''));
  };

  #skipLinks(): TemplateResult {
    const words = this.shellWords;
    const skip = (label: string, run: () => Promise<void>): TemplateResult =>
      html`<button @click=${() => void run()}>${label}</button>`;
    return html`<div class="skip" ?inert=${this.hasDrawer}>
      ${this.route.threadId ? skip(words.skipToThread, () => this.messages.focusThread()) : nothing}
      ${skip(words.skipToInbox, () => this.messages.focusList())}
    </div>`;
  }

  #run(command: Command): boolean {
    const { messages } = this;
    if (messages.isDrawerOpen && command !== 'back' && command !== 'help') return false;
    switch (command) {
      case 'help':
        this.isHelpOpen = true;
        return true;
      case 'search':
        return messages.focusSearch();
      case 'previous':
        void messages.step(-1);
        return true;
      case 'next':
        void messages.step(1);
        return true;
      case 'back':
        return messages.back();
      case 'markRead':
        return messages.markRead();
    }
  }

  /** The address decides what is shown, so that the browser's own way back is the same. */
  readonly #changed = (event: CustomEvent<Change>): void => {
    event.preventDefault();
    const { threadId, panel, folder, history } = event.detail;
    const next: Partial<Route> = {
      page: threadId ? 'thread' : 'inbox',
      threadId,
      panel,
      folder: folder === 'all' ? null : folder,
    };
    if (history === 'push') this.navigation.go(next);
    else if (history === 'back') this.navigation.backTo(next);
    else this.navigation.replace(next);
  };

  readonly #singleKeys = ({ detail }: CustomEvent<{ isOn: boolean }>): void => {
    this.singleKeys = detail.isOn;
    keepSingleKeys(detail.isOn);
  };
}
