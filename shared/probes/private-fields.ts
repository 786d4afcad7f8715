export const SERIALS = ['serial', 'serialNum', 'serialNumber', 'assetTag'] as const

/** Arguments of programs, and their environment, hold passwords. */
export const COMMAND_LINE = ['command', 'params', 'path', 'args'] as const

/** Labels and options are free text, and people put credentials there. */
export const DOCKER_TEXTS = ['command', 'labels', 'options', 'config', 'containerConfig'] as const
