"""What is measured: five folders by what is proven, and what they share."""
