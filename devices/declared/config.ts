import * as z from 'zod'
import { Hazard } from '../../shared/wire/command.ts'
import { PropertyName } from '../../shared/wire/device.ts'
import { POINTER } from './pointer.ts'

/* What the configuration says about a device that no profile knows. */

export const DeclaredProperty = z.strictObject({
  pointer: z.string().regex(POINTER).max(256).default('').describe('JSON pointer to the value.'),
  title: z.string().min(1).max(128).exactOptional(),
  type: z.enum(['number', 'boolean', 'text']).default('number'),
  unit: z.string().min(1).max(16).exactOptional(),
  min: z.number().exactOptional(),
  max: z.number().exactOptional(),
  stale_after_seconds: z.number().positive().max(86_400).default(300),
})
export type DeclaredProperty = z.infer<typeof DeclaredProperty>

export const DeclaredParam = z.strictObject({
  type: z.enum(['number', 'integer', 'boolean', 'text']),
  description: z.string().max(256).exactOptional(),
  min: z.number().exactOptional(),
  max: z.number().exactOptional(),
  options: z.array(z.string().min(1).max(64)).min(1).max(64).exactOptional(),
})
export type DeclaredParam = z.infer<typeof DeclaredParam>

/** Fields of every declared verb; a link adds what is sent. */
export const DECLARED_VERB = {
  description: z.string().min(1).max(256),
  hazard: Hazard.default('unsafe').describe('Hazard; unsafe by default.'),
  params: z
    .record(z.string().regex(/^[a-z][a-z0-9_]{0,31}$/), DeclaredParam)
    .default({})
    .refine(params => Object.keys(params).length <= 16, 'has at most 16 parameters'),
  idempotent: z.boolean().default(false),
  timeout_seconds: z.number().min(1).max(600).default(10),
}

export const DeclaredProperties = z
  .record(PropertyName, DeclaredProperty)
  .default({})
  .refine(properties => Object.keys(properties).length <= 64, 'has at most 64 properties')
export type DeclaredProperties = z.infer<typeof DeclaredProperties>

/** Name of a declared device; its profile is named after it. */
export const DeclaredName = z.string().regex(/^[a-z][a-z0-9-]{0,39}$/)
