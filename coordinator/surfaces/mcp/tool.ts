import type { Tool } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { CELL_FIELD, CellField } from '../../fleet/cells/cell-field.ts'
import { type JsonSchema, jsonSchema } from '../../kernel/declaration/json-schema.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import { PendingView } from '../../kernel/declaration/pending-result.ts'
import { CALL_KEY_FIELD, CallKeyField } from './call-extras.ts'

/** An operation as a tool: the same id, input, output and effect as its REST route. */
export const toolOf = (operation: Operation & { name?: string }): Tool => ({
  name: operation.id,
  title: operation.name ?? titleOf(operation.id),
  description: descriptionOf(operation),
  inputSchema: jsonSchema(inputOf(operation)) as Tool['inputSchema'],
  outputSchema: outputOf(operation) as NonNullable<Tool['outputSchema']>,
  annotations: annotationsOf(operation),
})

/** The tool without the schema of its output, which doubles the size of a list several times. */
export const withoutOutput = ({ outputSchema, ...tool }: Tool): Tool => tool

/** Cache of tools by operation: schemas are large and the same for every caller. */
const definitions = new WeakMap<Operation, Tool>()
export const definitionOf = (operation: Operation): Tool => {
  const known = definitions.get(operation) ?? toolOf(operation)
  definitions.set(operation, known)
  return known
}

const titleOf = (id: string): string => {
  const words = id.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Immediate output of an operation that runs as a task. */
const TaskReference = z.object({ task_id: z.string() })

const descriptionOf = ({ description, mode }: Operation): string =>
  mode === 'task'
    ? `${description} Returns the id of a task immediately; the tool tasks-show returns its state.`
    : description

/** Schema of the input, with the cell to run on and the idempotency key as fields beside it. */
const inputOf = ({ input, onCell, needsCallKey }: Operation): z.ZodObject =>
  input.extend({
    ...(onCell && { [CELL_FIELD]: CellField }),
    ...(needsCallKey && { [CALL_KEY_FIELD]: CallKeyField }),
  })

/** A gated tool answers its output or, as long as people have not approved it, that it waits. */
const outputOf = ({ effect, mode, output }: Operation): JsonSchema =>
  mode === 'task'
    ? jsonSchema(TaskReference)
    : effect === 'gated'
      ? { type: 'object', ...jsonSchema(z.union([output, PendingView])) }
      : jsonSchema(output)

/**
 * Hints by effect (MCP 2026-07-28, schema, ToolAnnotations). What only looks changes nothing; what
 * acts on the world may be destructive and reaches beyond the coordinator.
 */
const annotationsOf = ({
  effect,
  method,
  openWorld = effect === 'gated',
}: Operation): NonNullable<Tool['annotations']> => ({
  readOnlyHint: effect === 'read',
  destructiveHint: effect === 'gated' || method === 'DELETE',
  idempotentHint: effect === 'read' || method === 'PUT' || method === 'DELETE',
  openWorldHint: openWorld,
})
