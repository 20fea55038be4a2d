/** What the elements of files have in common: their words and the works behind them. */

import type { StoredFile } from '@greenroom/sdk';
import { state } from 'lit/decorators.js';

import { englishFiles, type FileWords, loadFileWords } from '../i18n/files.ts';
import { GreenroomElement, type Stop } from '../session/element.ts';
import type { Session } from '../session/session.ts';
import { type FileWorks, fileWorks } from './works.ts';

/** By locale: elements that come later have them at once. */
const loaded = new Map<string, FileWords>();

export async function prepareFileWords(locale: string): Promise<FileWords> {
  const words = loaded.get(locale) ?? (await loadFileWords(locale));
  loaded.set(locale, words);
  return words;
}

export abstract class FilesElement extends GreenroomElement {
  @state() protected fileWords: FileWords = englishFiles;

  protected get works(): FileWorks | null {
    return this.session?.userId ? fileWorks(this.session) : null;
  }

  /** What has been taken out of the page has no session, and nobody sees it. */
  protected override shouldUpdate(): boolean {
    return this.session !== null;
  }

  /** The file with addresses that this page reaches. */
  protected reached(file: StoredFile): StoredFile {
    return this.works?.files.reached(file) ?? file;
  }

  protected override joined(session: Session): Stop[] {
    const load = async (): Promise<void> => {
      this.fileWords = await prepareFileWords(session.locale);
    };
    this.fileWords = loaded.get(session.locale) ?? englishFiles;
    void load();
    return [session.onChange(() => void load())];
  }
}
