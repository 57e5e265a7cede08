import type { Document } from 'mongodb';

/** An update that puts null in the place of a lead's id and fields, in every row that it has. */
export function erasure(crmId: string): Document[] {
  const isLead = (value: string): Document => ({ $eq: [value, { $literal: crmId }] });
  const rowIsLead = isLead('$$row.crm_id');
  const rows = {
    $map: {
      input: { $range: [0, { $size: '$crm_ids' }] },
      as: 'index',
      in: {
        crm_id: { $arrayElemAt: ['$crm_ids', '$$index'] },
        fields: { $arrayElemAt: ['$fields', '$$index'] },
      },
    },
  };
  const columnOf = (value: string): Document => ({
    $map: { input: rows, as: 'row', in: { $cond: [rowIsLead, null, value] } },
  });
  const leadRows = { $filter: { input: '$crm_ids', as: 'crmId', cond: isLead('$$crmId') } };
  return [
    {
      $set: {
        erased: { $add: ['$erased', { $size: leadRows }] },
        fields: columnOf('$$row.fields'),
        crm_ids: columnOf('$$row.crm_id'),
      },
    },
  ];
}
