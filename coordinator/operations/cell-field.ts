import * as z from 'zod'

/** Name of the field beside the input of an operation with `onCell`: the cell to run on. */
export const CELL_FIELD = 'cell'

export const CellField = z
  .string()
  .max(128)
  .exactOptional()
  .describe('Id of the cell to run on; needed where several cells could.')
