import { css } from 'lit';

export const styles = css`
  :host {
    block-size: 100%;
    display: block;
    overflow-y: auto;
  }

  main {
    display: flex;
    justify-content: center;
    min-block-size: 100%;
    padding: calc(var(--_space) * 6);
    padding-block: max(clamp(2rem, 9vh, 6rem), env(safe-area-inset-top))
      max(3rem, env(safe-area-inset-bottom));
  }

  .page {
    display: flex;
    flex-direction: column;
    gap: calc(var(--_space) * 3);
    inline-size: 100%;
    max-inline-size: 54rem;
  }

  .logo {
    align-items: center;
    background: var(--_accent);
    block-size: 2.75rem;
    border-radius: 0.875rem;
    color: var(--_on-accent);
    display: flex;
    inline-size: 2.75rem;
    justify-content: center;
    margin-block-end: calc(var(--_space) * 3);
  }

  h1 {
    font-size: clamp(1.625rem, 5vw, 2.25rem);
    font-weight: 680;
    letter-spacing: -0.02em;
    line-height: 1.15;
    margin: 0;
    outline: none;
    text-wrap: balance;
  }

  p {
    margin: 0;
  }

  .lead {
    color: var(--_text-quiet);
    font-size: var(--_size-large);
    max-inline-size: 36rem;
    text-wrap: balance;
  }

  .reason {
    background: var(--_notice-soft);
    border-radius: var(--_radius-small);
    color: var(--_notice);
    margin-block-start: calc(var(--_space) * 2);
    padding: calc(var(--_space) * 3) calc(var(--_space) * 4);
  }

  .failure {
    align-items: start;
    display: flex;
    flex-direction: column;
    gap: calc(var(--_space) * 3);
  }

  .people {
    display: grid;
    gap: calc(var(--_space) * 3);
    grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr));
    list-style: none;
    margin: calc(var(--_space) * 5) 0 0;
    padding: 0;
  }

  .person {
    align-items: center;
    background: var(--_surface-raised);
    border: 1px solid var(--_line);
    border-radius: var(--_radius);
    column-gap: calc(var(--_space) * 3.5);
    display: grid;
    grid-template-columns: auto minmax(0, 1fr);
    inline-size: 100%;
    padding: calc(var(--_space) * 3);
    row-gap: 0;
    text-align: start;
  }

  .person greenroom-avatar {
    --avatar-size: 3.25rem;

    grid-row: span 2;
  }

  .person:hover:not(:disabled) {
    background: var(--_hover);
    border-color: var(--_accent);
  }

  .name {
    align-self: end;
    font-weight: 600;
  }

  .name + .small {
    align-self: start;
    grid-column: 2;
  }

  .two {
    align-items: center;
    background: var(--_accent-soft);
    border-radius: var(--_radius);
    display: flex;
    flex-wrap: wrap;
    gap: calc(var(--_space) * 3) calc(var(--_space) * 5);
    justify-content: space-between;
    margin-block-start: calc(var(--_space) * 5);
    padding: calc(var(--_space) * 4) calc(var(--_space) * 5);
  }

  .two p {
    flex: 1 1 16rem;
  }

  a.button {
    color: inherit;
    text-decoration: none;
  }

  @media (max-width: 30rem) {
    .people {
      gap: calc(var(--_space) * 2);
    }

    .person greenroom-avatar {
      --avatar-size: 2.75rem;
    }
  }

  @media (prefers-reduced-motion: no-preference) {
    .person {
      transition:
        background 0.12s,
        border-color 0.12s;
    }
  }
`;
