import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Sender } from '../../server/use-send.js';
import { Problem } from '../page.js';
import { Field } from './field.js';

/** A modal dialog with a form. Escape closes it, and the focus returns to where it was. */
export function Dialog(props: {
  readonly title: string;
  readonly close: () => void;
  readonly submit?: () => void;
  /** Keeps Escape from closing the dialog: its content is shown once. */
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
      onCancel={(event) => {
        event.preventDefault();
        if (!props.isKept) props.close();
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
  readonly isDanger?: boolean;
}) {
  return (
    <div class="row end">
      <button type="button" class="button" onClick={props.close}>
        Cancel
      </button>
      <button
        type="submit"
        class={props.isDanger ? 'button danger' : 'button main'}
        disabled={props.isBusy || props.isDisabled}
      >
        {props.action}
      </button>
    </div>
  );
}

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
  const isTyped = typed.trim() === props.name.trim();
  return (
    <Dialog title={props.title} close={props.close} submit={() => isTyped && props.run()}>
      {props.children}
      <Field label={`Type ${props.name} to confirm`} value={typed} set={setTyped} autocomplete="off" />
      {props.sender.problem && <Problem problem={props.sender.problem} />}
      <DialogButtons
        action={props.action}
        close={props.close}
        isBusy={props.sender.isBusy}
        isDisabled={!isTyped}
        isDanger
      />
    </Dialog>
  );
}
