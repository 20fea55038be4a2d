import { css } from 'lit';

export const threadStyles = css`
  :host {
    background: var(--_surface);
    block-size: 100%;
    display: block;
    max-block-size: 100dvh;
    min-block-size: 16rem;
    min-inline-size: 0;
    overflow: hidden;
  }

  .frame {
    block-size: 100%;
    display: flex;
    flex-direction: column;
    min-block-size: inherit;
  }

  greenroom-timeline {
    flex: 1;
  }

  .banner {
    align-items: center;
    background: var(--_notice-soft);
    border-radius: 0;
    color: var(--_notice);
    display: flex;
    font-size: var(--_size-small);
    gap: calc(var(--_space) * 2);
    margin: 0;
    min-block-size: 2.25rem;
    padding: calc(var(--_space) * 1.5) calc(var(--_space) * 4);
  }

  .banner span {
    flex: 1;
  }

  .banner strong {
    font-weight: 600;
    white-space: nowrap;
  }

  .banner.problem {
    background: var(--_danger-soft);
    color: var(--_danger);
  }

  .closed {
    border-block-start: 1px solid var(--_line);
    color: var(--_text-quiet);
    margin: 0;
    padding: calc(var(--_space) * 4);
    padding-block-end: max(calc(var(--_space) * 4), env(safe-area-inset-bottom));
    text-align: center;
  }

  .still {
    align-items: center;
    justify-content: center;
    padding: calc(var(--_space) * 6);
    text-align: center;
  }

  .still h2 {
    font-size: var(--_size-large);
    font-weight: 650;
    margin: 0;
  }

  .still p {
    color: var(--_text-quiet);
    margin: var(--_space) 0 calc(var(--_space) * 4);
    max-inline-size: 26rem;
  }

  .question {
    margin: 0 0 calc(var(--_space) * 5);
  }

  .choice {
    display: flex;
    flex-wrap: wrap;
    gap: calc(var(--_space) * 2);
    justify-content: flex-end;
  }
`;
