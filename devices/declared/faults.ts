import type * as z from 'zod'
import type { Json } from '../profile.ts'
import { listPlaceholders } from './template.ts'

/** Declared device, as far as its parts refer to each other. */
interface Declaration {
  properties: Readonly<Record<string, unknown>>
  verbs: Readonly<Record<string, DeclaredReferences>>
  estop_verb?: string
}

interface DeclaredReferences {
  params: Readonly<Record<string, unknown>>
  confirm?: { property: string }
}

interface Fault {
  path: string[]
  message: string
}

/**
 * Refuses a device whose parts name what it does not declare: an e-stop verb that does not exist stops
 * nothing, and a placeholder without a parameter sends null.
 */
export const refuseFaults =
  <D extends Declaration>(listTemplates: (verb: D['verbs'][string]) => Record<string, Json>) =>
  (device: D, context: z.core.$RefinementCtx): void => {
    const faults = Object.entries(device.verbs).flatMap(([name, verb]) => [
      ...findUnknownParams(name, verb, listTemplates(verb as D['verbs'][string])),
      ...findUnknownProperty(name, verb, device.properties),
    ])
    for (const fault of [...faults, ...findEstopFault(device)])
      context.addIssue({ code: 'custom', ...fault })
  }

const findUnknownParams = (
  name: string,
  { params }: DeclaredReferences,
  templates: Readonly<Record<string, Json>>,
): Fault[] =>
  Object.entries(templates).flatMap(([key, template]) =>
    listPlaceholders(template)
      .filter(param => !Object.hasOwn(params, param))
      .map(param => ({
        path: ['verbs', name, key],
        message: `contains {${param}}, which is not a parameter of ${name}; declare it in params`,
      })),
  )

const findUnknownProperty = (
  name: string,
  { confirm }: DeclaredReferences,
  properties: Declaration['properties'],
): Fault[] =>
  confirm === undefined || Object.hasOwn(properties, confirm.property)
    ? []
    : [
        {
          path: ['verbs', name, 'confirm', 'property'],
          message: `${confirm.property} is not a property of this device; declare it in properties`,
        },
      ]

const findEstopFault = ({ verbs, estop_verb: name }: Declaration): Fault[] => {
  if (name === undefined) return []
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined
  const path = ['estop_verb']
  if (verb === undefined) return [{ path, message: `${name} is not a verb of this device` }]
  return Object.keys(verb.params).length === 0
    ? []
    : [{ path, message: `${name} has parameters, which an e-stop cannot provide` }]
}
