import { css } from 'lit';

export const styles = css`
  .person {
    align-items: center;
    display: flex;
    gap: calc(var(--_space) * 3);
  }

  .person strong {
    display: block;
    font-weight: 650;
    overflow-wrap: anywhere;
  }

  .verified {
    color: var(--_accent-text);
    white-space: nowrap;
  }

  .verified svg.icon {
    margin-inline-end: var(--_space);
    vertical-align: -0.25em;
  }

  .about {
    border-block: 1px solid var(--_line);
    margin-block: calc(var(--_space) * 4) 0;
    overflow-wrap: anywhere;
    padding-block: calc(var(--_space) * 3);
  }

  .about span {
    display: block;
  }

  .known {
    align-items: center;
    background: var(--_surface-sunken);
    border-radius: var(--_radius-small);
    display: flex;
    flex-wrap: wrap;
    gap: calc(var(--_space) * 2) calc(var(--_space) * 3);
    justify-content: space-between;
    margin-block-start: calc(var(--_space) * 4);
    padding: calc(var(--_space) * 3);
  }

  form {
    margin-block-start: calc(var(--_space) * 4);
  }

  form p {
    margin: 0 0 calc(var(--_space) * 2);
  }

  .grow {
    background: var(--_surface);
    border: 1px solid var(--_line-strong);
    border-radius: var(--_radius-small);
  }

  .grow:focus-within {
    border-color: var(--_accent);
    box-shadow: 0 0 0 1px var(--_accent);
  }

  .grow textarea,
  .grow::after {
    min-block-size: 6.5rem;
  }

  textarea::placeholder {
    color: var(--_text-quiet);
    opacity: 1;
  }

  .problem {
    margin-block: calc(var(--_space) * 3) 0;
  }

  .below {
    align-items: center;
    display: flex;
    gap: calc(var(--_space) * 3);
    justify-content: space-between;
    margin-block-start: calc(var(--_space) * 3);
  }

  .below .button {
    flex: none;
    margin-inline-start: auto;
  }

  @media (pointer: coarse) {
    .hint {
      display: none;
    }
  }
`;
