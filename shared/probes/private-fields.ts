export const SERIALS = ['serial', 'serialNum', 'serialNumber', 'assetTag'] as const

/** Arguments and environments of programs can hold passwords. */
export const COMMAND_LINE = ['command', 'params', 'path', 'args'] as const

/** Labels and options are free text that can hold credentials. */
export const DOCKER_TEXTS = ['command', 'labels', 'options', 'config', 'containerConfig'] as const
