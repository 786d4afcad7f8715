import { commandCodes, type SuccessRule } from '../../../../../shared/success-rule.ts'

/** Rule of an answer that has a command at `path`, which is null in a dry run. */
export const commandSuccess = (path?: string): SuccessRule => {
  const at = (field: string) => (path === undefined ? field : `${path}.${field}`)
  return {
    field: at('state'),
    codes: { ...commandCodes(), ...(path !== undefined && { null: 0 }) },
    unknown: ['unknown'],
    later: { operation: 'commands-show', input: { command_id: at('id') }, field: 'state' },
  }
}

/** Rule of an answer that comes once a command was sent: an open outcome is what was asked for. */
export const SENT_SUCCESS: SuccessRule = {
  field: 'state',
  codes: commandCodes(0),
  unknown: ['unknown'],
}
