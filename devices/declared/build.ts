import * as z from 'zod'
import type { Hazard } from '../../shared/wire/command.ts'
import type { PropertyFacts } from '../../shared/wire/device.ts'
import { type DeviceVerb, defineVerb, type Json, type PlanTarget } from '../profile.ts'
import type { DeclaredParam, DeclaredProperties } from './config.ts'

/** Facts of declared properties. */
export const toPropertyFacts = (properties: DeclaredProperties): Record<string, PropertyFacts> =>
  Object.fromEntries(
    Object.entries(properties).map(([name, declared]) => {
      const { title = name, type, unit, min, max, stale_after_seconds } = declared
      const stale_after_ms = Math.round(stale_after_seconds * 1000)
      return [name, withoutAbsent({ title, type, unit, min, max, stale_after_ms })]
    }),
  )

const withoutAbsent = (facts: object): PropertyFacts =>
  Object.fromEntries(
    Object.entries(facts).filter(([, value]) => value !== undefined),
  ) as unknown as PropertyFacts

interface DeclaredVerb {
  description: string
  hazard: Hazard
  params: Readonly<Record<string, DeclaredParam>>
  idempotent: boolean
  timeout_seconds: number
}

/** A declared verb; `resolve` makes its one operation from the parameters. */
export const toVerb = (
  { description, hazard, params, idempotent, timeout_seconds }: DeclaredVerb,
  resolve: (params: Readonly<Record<string, unknown>>, target: PlanTarget) => Json,
): DeviceVerb =>
  defineVerb({
    description,
    hazard,
    params: z.strictObject(
      Object.fromEntries(
        Object.entries(params).map(([name, declared]) => [name, toParamSchema(declared)]),
      ),
    ),
    isIdempotent: idempotent,
    timeoutSeconds: timeout_seconds,
    atEstop: 'none',
    plan: (given, target) => ({ operations: [resolve(given, target)] }),
  })

const MAX_PARAM_CHARS = 64

const toParamSchema = ({ type, description, min, max, options }: DeclaredParam): z.ZodType => {
  const schema = createParamSchema({ type, min, max, options })
  return description === undefined ? schema : schema.describe(description)
}

const createParamSchema = ({
  type,
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
  options,
}: Pick<DeclaredParam, 'type'> & {
  min: number | undefined
  max: number | undefined
  options: readonly string[] | undefined
}): z.ZodType => {
  if (type === 'boolean') return z.boolean()
  if (type === 'integer') return z.int().min(min).max(max)
  if (type === 'number') return z.number().min(min).max(max)
  return options === undefined ? z.string().min(1).max(MAX_PARAM_CHARS) : z.enum(options)
}
