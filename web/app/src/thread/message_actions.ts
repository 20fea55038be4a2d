/** What can be done with one message, by menu, button or key. */

import type { Message } from '@greenroom/sdk';

import type { Words } from '../i18n/index.ts';
import type { MenuItem } from '../look/menu.ts';
import { canDelete, canEdit, canReplyTo, type Editor } from './rights.ts';

export type MessageAction = 'reply' | 'copy' | 'edit' | 'delete';

export interface Actor extends Editor {
  readonly canWrite: boolean;
}

const KEYS: Readonly<Record<string, MessageAction>> = { r: 'reply', e: 'edit', Delete: 'delete' };

export function actionsFor(message: Message, actor: Actor): MessageAction[] {
  const { userId, canWrite } = actor;
  const offered: Record<MessageAction, boolean> = {
    reply: canWrite && canReplyTo(message),
    copy: hasText(message) && !message.deleted_at,
    edit: canWrite && canEdit(message, actor),
    delete: canDelete(message, userId),
  };
  return (Object.keys(offered) as MessageAction[]).filter((action) => offered[action]);
}

export function actionOfKey(key: string, message: Message, actor: Actor): MessageAction | null {
  const action = KEYS[key];
  return action && actionsFor(message, actor).includes(action) ? action : null;
}

export function menuItems(
  actions: readonly MessageAction[],
  words: Words,
  run: (action: MessageAction) => void,
): MenuItem[] {
  const icons = { reply: 'reply', copy: 'copy', edit: 'edit', delete: 'bin' } as const;
  return actions.map((action) => ({
    label: words.thread[action],
    icon: icons[action],
    isDanger: action === 'delete',
    run: () => run(action),
  }));
}

function hasText({ kind, body }: Message): boolean {
  return kind === 'text' || (kind === 'asset' && body !== '');
}
