import { findModule, loadProgram } from '../../../discovery/load.ts'
import { firstIssue } from '../../../shared/first-issue.ts'
import type { HelperFunction } from './served-call.ts'

/**
 * Finds the check of the configuration of a module. The schema is that of its program, which loads
 * foreign libraries. The check returns the first fault, or null.
 */
export const findConfigCheck = async (id: string): Promise<HelperFunction> => {
  const module = await findModule(id)
  if (module === undefined) return () => 'there is no such module'
  const schema = (await loadProgram(module))?.config
  if (schema === undefined) return () => 'this module has no configuration'
  return (given: unknown) => {
    const { error } = schema.safeParse(given)
    return error === undefined ? null : firstIssue(error, given).message
  }
}
