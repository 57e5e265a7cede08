import { closedObject, count, described, flag, instant, list, text } from '../../contract/schema.js';

export const showPepperInput = closedObject({});

/** A key that has only the hash with the previous pepper. */
const oldKey = closedObject({
  key_id: text,
  org_id: text,
  name: text,
  /** Absent if no call of the last 400 days is known. Up to a minute late. */
  'last_used_at?': instant,
  is_in_use: described('Whether it was used within 30 days: it then keeps the roll-out from its end.', flag),
});

export const showPepperOutput = closedObject({
  is_rolling_out: flag,
  /** Keys with a hash of the new pepper; 0 without a roll-out. */
  keys_with_new: count,
  /** Keys with only a hash of the previous pepper; 0 without a roll-out. */
  keys_with_old: count,
  /** The first of `keys_with_old`: those in use before the others, at most 200. */
  old_keys: list(oldKey),
});

export const endPepperInput = closedObject({
  keep: described('The pepper that stays: `new` ends the roll-out, and `previous` takes it back.', {
    type: 'string',
    enum: ['new', 'previous'],
  }),
});

export const endPepperOutput = closedObject({
  kept: { type: 'string', enum: ['new', 'previous'] },
  /** Keys that had no hash with the new pepper, and were not used within 30 days. */
  keys_revoked: count,
});
