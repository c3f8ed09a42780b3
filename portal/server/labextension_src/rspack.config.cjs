// Numbers in order of use: the builder's own depend on the folder that it runs in.
module.exports = { optimization: { moduleIds: 'natural' } };
