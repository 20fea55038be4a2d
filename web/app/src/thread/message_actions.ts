/** What can be done with one message, by menu, button or key. */

import type { Message } from '@greenroom/sdk';

import type { Words } from '../i18n/index.ts';
import type { MenuItem } from '../look/menu.ts';
import { canDelete, canEdit, canReplyTo } from './rights.ts';

export type MessageAction = 'reply' | 'copy' | 'edit' | 'delete';

export interface Actor {
  readonly userId: string;
  readonly nowMs: number;
  readonly canWrite: boolean;
}

const KEYS: Readonly<Record<string, MessageAction>> = { r: 'reply', e: 'edit', Delete: 'delete' };

export function actionsFor(message: Message, { userId, nowMs, canWrite }: Actor): MessageAction[] {
  const offered: Record<MessageAction, boolean> = {
    reply: canWrite && canReplyTo(message),
    copy: message.kind === 'text' && !message.deleted_at,
    edit: canWrite && canEdit(message, userId, nowMs),
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
