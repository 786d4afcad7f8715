import * as z from 'zod'

const cellRefs = z.registry<{ isCell: true }>()

/** Cell in an input: its id or its name, in whose place the operation gets the id. */
export const CellRef = z
  .string()
  .max(256)
  .register(cellRefs, { isCell: true })
  .describe('Id or name of the cell.')

/** Name of the field beside the input of an operation with `onCell`: the cell to run on. */
export const CELL_FIELD = 'cell'

export const CellField = CellRef.exactOptional().describe(
  'Id or name of the cell to run on; needed where several cells could.',
)

/** Names of the fields of an input that take a cell, or a list of cells. */
export const listCellFields = ({ shape }: z.ZodObject): string[] =>
  Object.entries(shape).flatMap(([name, field]) => (isCellRef(field) ? [name] : []))

const isCellRef = (schema: z.core.$ZodType): boolean => {
  if (cellRefs.get(schema as typeof CellRef) !== undefined) return true
  const { innerType, element } = schema._zod.def as {
    innerType?: z.core.$ZodType
    element?: z.core.$ZodType
  }
  const inner = innerType ?? element
  return inner !== undefined && isCellRef(inner)
}
