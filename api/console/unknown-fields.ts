import { AdminError } from '../../shared/admin/admin-error.js';
import { SuggestionWork } from '../../shared/messages/similar-fields.js';
import type { Admission, AdmissionRequest } from '../admission/admission.js';
import { ReportedFields } from '../call/input/reported-fields.js';
import { maxSentNames, shownName } from '../dispatch/refusal.js';

/** Words for a person whose record has no field of the model; undefined for other records. */
export async function unknownFields(
  call: AdmissionRequest,
  fields: Readonly<Record<string, unknown>>,
  { admission }: { readonly admission: Pick<Admission, 'admit'> },
): Promise<AdminError | undefined> {
  const sent = Object.keys(fields);
  const { model } = await admission.admit(call);
  const names = model.knownFields.sentNames();
  if (sent.some((name) => names.targetsOf(name).length > 0)) return undefined;
  const { similar } = ReportedFields.of(model);
  const work = new SuggestionWork();
  const named = sent.slice(0, maxSentNames).map((name) => {
    const [meant] = similar.of(name, work);
    return meant === undefined ? shownName(name) : `${shownName(name)} (did you mean ${shownName(meant)}?)`;
  });
  const others = sent.length > maxSentNames ? ' and others' : '';
  return new AdminError(
    'invalid_request',
    `The record has no field of this model, but ${named.join(', ')}${others}. Use the names of the form.`,
  );
}
