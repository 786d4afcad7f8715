/** Steps that bring data to skills that read the running system. */
export const CONNECT_CELL =
  'connect a cell: `shoal tokens create` makes its join token; docs/cells.md'
export const CONNECT_DEVICE = 'configure a link of a cell to a device; docs/devices.md'
export const RUN_DISCOVERY = '`shoal discover scan network-map`; docs/discovery.md'
export const USE_MODEL = 'a request to a model: `shoal chat`; docs/api.md'
