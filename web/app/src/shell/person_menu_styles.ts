import { css } from 'lit';

export const styles = css`
  :host {
    display: inline-flex;
  }

  .me {
    background: transparent;
    block-size: 2.75rem;
    border: 0;
    border-radius: 50%;
    inline-size: 2.75rem;
    padding: 0.25rem;
  }

  .me greenroom-avatar {
    --avatar-size: 2.25rem;
  }

  .me:hover,
  .me:has(+ .sheet:popover-open) {
    background: var(--_hover);
  }

  .sheet {
    inline-size: min(19rem, 100vw - 1rem);
  }

  .who {
    align-items: center;
    display: flex;
    gap: calc(var(--_space) * 3);
    margin-block-end: calc(var(--_space) * 4);
  }

  fieldset {
    border: 0;
    margin: 0 0 calc(var(--_space) * 4);
    padding: 0;
  }

  legend {
    color: var(--_text-quiet);
    font-size: var(--_size-small);
    margin-block-end: calc(var(--_space) * 1.5);
    padding: 0;
  }

  .segments {
    background: var(--_surface-sunken);
    border-radius: var(--_radius-small);
    display: flex;
    padding: 3px;
  }

  .segments label {
    cursor: pointer;
    flex: 1 1 auto;
    position: relative;
  }

  .segments input {
    appearance: none;
    border-radius: calc(var(--_radius-small) - 2px);
    cursor: pointer;
    inset: 0;
    margin: 0;
    position: absolute;
  }

  .segments span {
    border-radius: calc(var(--_radius-small) - 2px);
    display: block;
    font-size: var(--_size-small);
    min-block-size: 2rem;
    padding: 0.375rem 0.625rem;
    text-align: center;
    white-space: nowrap;
  }

  .segments input:checked + span {
    background: var(--_surface-raised);
    box-shadow: 0 1px 3px rgb(0 0 0 / 14%);
    font-weight: 600;
  }

  .deeds {
    border-block-start: 1px solid var(--_line);
    display: flex;
    flex-direction: column;
    margin-inline: calc(var(--_space) * -2);
    padding-block-start: calc(var(--_space) * 2);
  }

  .deeds button,
  .deeds a {
    align-items: center;
    background: transparent;
    border: 0;
    border-radius: var(--_radius-small);
    color: inherit;
    display: flex;
    gap: calc(var(--_space) * 3);
    min-block-size: 2.75rem;
    padding: calc(var(--_space) * 1.5) calc(var(--_space) * 2);
    text-align: start;
    text-decoration: none;
  }

  .deeds .icon {
    color: var(--_text-quiet);
  }

  .deeds button:hover,
  .deeds a:hover {
    background: var(--_hover);
  }

  @media (pointer: coarse) {
    .segments span {
      min-block-size: 2.75rem;
      padding-block: 0.7rem;
    }
  }

  @media (forced-colors: active) {
    .segments input:checked + span {
      outline: 2px solid Highlight;
    }
  }
`;
