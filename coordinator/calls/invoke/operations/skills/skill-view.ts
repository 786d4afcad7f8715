import * as z from 'zod'
import type { SkillFacts } from '../../../../kernel/declaration/declaration.ts'
import { jsonSchema } from '../../../../kernel/declaration/json-schema.ts'

/** A skill as lists show it. */
export const SkillSummary = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  access: z.enum(['none', 'key', 'operator']),
  effect: z.enum(['read', 'write', 'gated']),
})

const JsonSchema = z.record(z.string(), z.unknown())

export const SkillDetails = SkillSummary.extend({
  roles: z
    .array(z.string())
    .nullable()
    .describe('Roles of which any one suffices; null for every operator role.'),
  input_schema: JsonSchema.nullable().describe(
    'Schema of the input, JSON Schema 2020-12; null for a skill that publishes none.',
  ),
  output_schema: JsonSchema.describe('Schema of the output, JSON Schema 2020-12.'),
  examples: z.array(z.record(z.string(), z.unknown())).describe('Example inputs.'),
})

export const skillSummary = (skill: SkillFacts): z.input<typeof SkillSummary> => {
  const { id, name, description, tags, access, effect } = skill
  return { id, name, description, tags: [...tags], access, effect }
}

export const skillDetails = (skill: SkillFacts): z.input<typeof SkillDetails> => ({
  ...skillSummary(skill),
  roles: skill.roles === undefined ? null : [...skill.roles],
  input_schema: skill.publishesInput ? jsonSchema(skill.input) : null,
  output_schema: jsonSchema(skill.output),
  examples: skill.examples.map(example => ({ ...example })),
})
