import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { ShoalError } from '../../shared/errors.ts'

/**
 * Parses YAML, of which JSON is a subset. Throws the parser's errors; its warnings are silenced,
 * since they would write parts of the text to the log. This module is also loaded in the thread of
 * each received document, hence apart from the schemas.
 */
export const parseYaml = (text: string): unknown => parse(text, { logLevel: 'error' })

/** Throws `config_invalid` for a file that cannot be read. */
export const readPolicyFile = (file: string | URL): unknown => {
  try {
    return parseYaml(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new ShoalError('config_invalid', `policy ${file} cannot be read`, { cause })
  }
}
