import { ShoalError } from '../../../shared/errors.ts'
import { toPropertyFacts, toVerb } from '../../declared/build.ts'
import { fillTemplate } from '../../declared/template.ts'
import { type DeviceProfile, defineProfile, type Json } from '../../profile.ts'
import type { HttpLinkConfig } from './config.ts'

/** Profile of a declared device, built from its configuration. */
export const createHttpProfile = ({
  name,
  url,
  properties,
  verbs,
  estop_verb,
}: HttpLinkConfig): DeviceProfile =>
  defineProfile({
    id: `http-generic-${name}`,
    title: `HTTP device ${name}`,
    kind: 'other',
    link: 'http',
    properties: toPropertyFacts(properties),
    atEstop: estop_verb === undefined ? 'none' : 'cut',
    verbs: Object.fromEntries(
      Object.entries(verbs).map(([verb, declared]) => [
        verb,
        toVerb(declared, params => {
          const { method, path, body } = declared
          return {
            method,
            url: `${url.replace(/\/$/, '')}${fillPath(path, params)}`,
            ...(body !== undefined && { body: fillTemplate(body, params) }),
          } satisfies Json
        }),
      ]),
    ),
  })

/**
 * Writes parameters into a path, encoded, so that a value stays in its place.
 * @throws ShoalError invalid_request for a value that would be a step to another path
 */
const fillPath = (path: string, params: Readonly<Record<string, unknown>>): string =>
  path.replace(/\{([a-z][a-z0-9_]*)\}/g, (_all, name: string) => {
    const text = String(params[name] ?? '')
    if (/^\.{1,2}$/.test(text) || !text.isWellFormed())
      throw new ShoalError('invalid_request', `${name} cannot be part of a path`, {
        param: `params.${name}`,
      })
    return encodeURIComponent(text)
  })
