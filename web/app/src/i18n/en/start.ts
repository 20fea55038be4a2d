export const start = {
  heading: 'New message',
  about: 'About',
  label: (name: string) => `Message to ${name}`,
  placeholder: 'Write the first message',
  send: 'Send',
  sending: 'Sending…',
  hint: 'Enter sends, Shift + Enter begins a new line',
  sent: 'Message sent',
  sentText: (name: string) => `What ${name} answers is in your messages.`,
  somebody: 'this person',
  alreadyTalking: (name: string) => `You already talk with ${name}.`,
  openTalk: 'Open the conversation',
  orNew: 'Or begin a new one:',

  unreachable:
    'It is not known whether your message has arrived: the server does not answer. Your text stays here. Try again; it is sent once.',
  tooMany: (left: string) =>
    `You have begun many conversations in a short time. You can send this in ${left}. Your text stays here.`,
  unknown: 'This person cannot be found here. They may have left.',
  self: 'This is you. Write to somebody else.',
  tooLong: 'Your message is too long. Please shorten it.',
  blocked: (name: string) => `You have blocked ${name}. Unblock them to write to them.`,
  locked: 'Your conversation about this is closed, so nothing can be written there.',
  notSignedIn: 'You are not signed in here. Sign in, and your text is still here.',
};
