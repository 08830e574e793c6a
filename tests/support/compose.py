"""What calls transforms one after the other, as torchvision's does: of tests whose data are not torchvision's."""


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, sample):
        for one in self.transforms:
            sample = one(sample)
        return sample
