/** Reason of a cell that was told of an added model a moment ago. */
export const NOT_TAKEN_UP = 'the cell has not taken it up yet'
