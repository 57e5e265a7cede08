import type { modelSchema } from '../../../../../shared/admin/schemas/models.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';

export type Model = ShapeOf<typeof modelSchema>;

/** A part of a page that shows a model, and may change it. */
export interface ModelProps {
  readonly model: Model;
  readonly changed: () => void;
}
