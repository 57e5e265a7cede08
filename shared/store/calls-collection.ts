/**
 * The collection of scored calls. One document is a call's row of the ledger (see usage-ledger.ts) and its first hundred
 * predictions (see prediction-slice.ts); what a larger call has beyond them are documents of their own, without a row. So a
 * call of up to a hundred records is written whole or not at all without a transaction.
 */
export const callsCollection = 'calls';
