import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { boundedNfkc, invisibleCharacters } from '../../../../../shared/contract/texts.js';
import type { Sender } from '../../server/use-send.js';
import { Problem } from '../page.js';
import { Copy } from './copy.js';
import { Field } from './field.js';

/** A modal dialog with a form. Escape closes it, and the focus returns to where it was. */
export function Dialog(props: {
  readonly title: string;
  readonly close: () => void;
  readonly submit?: () => void;
  /** Closes by its own button alone, because its content is shown once. */
  readonly isKept?: boolean;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      // The browser cannot return the focus from an element that is removed.
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onKeyDown={(event) => props.isKept && event.key === 'Escape' && event.preventDefault()}
      onCancel={(event) => {
        event.preventDefault();
        if (!props.isKept) props.close();
      }}
      // A browser closes a dialog in spite of `cancel` when it is asked again and again. The event also comes late,
      // after the page has removed the dialog.
      onClose={({ currentTarget }) => {
        if (!currentTarget.isConnected) return;
        if (props.isKept) currentTarget.showModal();
        else props.close();
      }}
    >
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          props.submit?.();
        }}
      >
        <h2 id={titleId}>{props.title}</h2>
        {props.children}
      </form>
    </dialog>
  );
}

/** The buttons at the end of a dialog. */
export function DialogButtons(props: {
  readonly action: string;
  readonly close: () => void;
  readonly isBusy?: boolean;
  readonly isDisabled?: boolean;
  /** Says what to do before the button can be pressed. */
  readonly missing?: string;
  readonly isDanger?: boolean;
}) {
  const id = useId();
  return (
    <div class="row end">
      {props.isDisabled && (
        <span id={id} class="small soft">
          {props.missing ?? 'Fill in what is missing above.'}
        </span>
      )}
      <button type="button" class="button" onClick={props.close}>
        Cancel
      </button>
      <button
        type="submit"
        class={props.isDanger ? 'button danger' : 'button main'}
        disabled={props.isBusy || props.isDisabled}
        aria-describedby={props.isDisabled ? id : undefined}
      >
        {props.action}
      </button>
    </div>
  );
}

/** Shows a secret that the server sends once. */
export function SecretDialog(props: {
  readonly title: string;
  readonly secret: string;
  /** The text of the button that copies it. */
  readonly copy: string;
  /** The text of the button that closes it. */
  readonly done: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <Dialog title={props.title} close={props.close} submit={props.close} isKept>
      <p>{props.children}</p>
      <p class="secret">
        <code>{props.secret}</code>
      </p>
      <div class="card-head">
        <Copy text={props.secret} label={props.copy} />
        <button type="submit" class="button main">
          {props.done}
        </button>
      </div>
    </Dialog>
  );
}

/** White space of one line is none of them: it counts as a space. */
const invisible = new RegExp(`(?![\\t-\\r])[\\p{Cf}${invisibleCharacters}]`, 'gu');
/**
 * A name as a person reads it on the page and types it. A run of white space is one space, and other characters without
 * a shape do not count.
 */
const shownName = (name: string): string =>
  // A letter and its mark join only after the characters between them are gone.
  boundedNfkc(name.replaceAll(invisible, '')).replaceAll(/\s+/g, ' ').trim();
/** To type for a name of which a page shows nothing. */
const wordOfNoName = 'confirm';
/** More than any name has. */
const maxTyped = 1_000;

/** Says what a dangerous action will do, and asks for a name to be typed. */
export function ConfirmDialog(props: {
  readonly title: string;
  readonly action: string;
  /** The text to type. */
  readonly name: string;
  readonly sender: Sender;
  readonly close: () => void;
  readonly run: () => void;
  readonly children: ComponentChildren;
}) {
  const [typed, setTyped] = useState('');
  const name = shownName(props.name) || wordOfNoName;
  const isTyped = shownName(typed) === name;
  return (
    <Dialog title={props.title} close={props.close} submit={() => isTyped && props.run()}>
      {props.children}
      <Field label={`Type ${name} to confirm`} value={typed} set={setTyped} maxLength={maxTyped} autocomplete="off" />
      {props.sender.problem && <Problem problem={props.sender.problem} />}
      <DialogButtons
        action={props.action}
        close={props.close}
        isBusy={props.sender.isBusy}
        isDisabled={!isTyped}
        missing="Type the name first."
        isDanger
      />
    </Dialog>
  );
}
