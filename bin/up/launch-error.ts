/** Error that ends the launcher with a single line and an exit code of sysexits.h. */
export class LaunchError extends Error {
  readonly exitCode: number

  constructor(exitCode: number, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'LaunchError'
    this.exitCode = exitCode
  }
}

/** Codes of sysexits.h that the launcher itself gives. */
export const EXIT = { usage: 64, data: 65, cannotCreate: 73, config: 78 } as const
